-- Files are read again when the mapping of their columns changes.

ALTER TABLE seen ADD COLUMN reading VARCHAR DEFAULT '';  -- the user's columns; see Reading.fingerprint
