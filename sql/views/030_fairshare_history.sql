-- Decayed usage, against targets where some are configured, at the end of each day.
CREATE OR REPLACE VIEW fairshare_history AS
SELECT
    cluster,
    to_timestamp(as_of) AS as_of,
    method,
    entity_kind,
    entity,
    parent,
    share,
    usage,
    usage_fraction,
    priority,
    rank,
    run_id,
    partition,
    share_of_all,
    usage_of_all,
    level_fs
FROM fairshare_day JOIN fairshare_entity USING (entity_id);

COMMENT ON VIEW fairshare_history IS 'Decayed usage, against targets where some are configured, at the end of each day.';
COMMENT ON COLUMN fairshare_history.cluster IS 'name of the cluster';
COMMENT ON COLUMN fairshare_history.as_of IS 'instant of the figures';
COMMENT ON COLUMN fairshare_history.method IS 'how usage decays, what a second costs, and the operator where there are targets';
COMMENT ON COLUMN fairshare_history.entity_kind IS 'user or account';
COMMENT ON COLUMN fairshare_history.entity IS 'user or account';
COMMENT ON COLUMN fairshare_history.parent IS 'account above it in the share tree; NULL without a tree, and at the top of one';
COMMENT ON COLUMN fairshare_history.share IS 'target share, in a tree among those with the same parent, or that of the account above it where it has none of its own (fairshare=parent); 0 to 1; NULL: none';
COMMENT ON COLUMN fairshare_history.usage IS 'decayed usage; penalty-seconds';
COMMENT ON COLUMN fairshare_history.usage_fraction IS 'part of all usage, in a tree of that of those with the same parent; 0 to 1';
COMMENT ON COLUMN fairshare_history.priority IS 'fairshare priority by the operator, -1 to 1 (fair_tree and classic as Slurm prints them); NULL: no target';
COMMENT ON COLUMN fairshare_history.rank IS '1 is served first, in a tree among all of the same kind; ties share the better rank; NULL: no target';
COMMENT ON COLUMN fairshare_history.run_id IS 'run that computed the row; see runs';
COMMENT ON COLUMN fairshare_history.partition IS 'the one partition for which a user of the share tree has this share; NULL: all';
COMMENT ON COLUMN fairshare_history.share_of_all IS 'target share of everything; 0 to 1; NULL: none of its own';
COMMENT ON COLUMN fairshare_history.usage_of_all IS 'part of all usage; 0 to 1';
COMMENT ON COLUMN fairshare_history.level_fs IS 'LevelFS of Slurm''s Fair Tree, share / usage_fraction as sshare prints it, from 0 on; infinity: unused; NULL: fairshare=parent, or another operator';
