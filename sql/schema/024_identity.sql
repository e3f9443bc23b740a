-- Which store this is, by the files that it archives; a store that never archived has no row.

CREATE TABLE identity (
    store VARCHAR NOT NULL             -- 16 random hex digits, part of the names of its files
);
