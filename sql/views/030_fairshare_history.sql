-- Decayed usage at the end of each day, with targets if any are configured.
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

COMMENT ON VIEW fairshare_history IS 'Decayed usage at the end of each day, with targets if any are configured.';
COMMENT ON COLUMN fairshare_history.cluster IS 'name of the cluster';
COMMENT ON COLUMN fairshare_history.as_of IS 'instant of the figures: the end of a day';
COMMENT ON COLUMN fairshare_history.method IS 'names of decay and penalty, and of the operator if there are targets';
COMMENT ON COLUMN fairshare_history.entity_kind IS 'kind of the entity: user or account';
COMMENT ON COLUMN fairshare_history.entity IS 'name of the user or account';
COMMENT ON COLUMN fairshare_history.parent IS 'parent account in the share tree; NULL without a tree, and at its top level';
COMMENT ON COLUMN fairshare_history.share IS 'target share, in a tree relative to its siblings; with fairshare=parent, the share of the parent; 0 to 1; NULL without a target';
COMMENT ON COLUMN fairshare_history.usage IS 'decayed usage up to as_of; penalty-seconds';
COMMENT ON COLUMN fairshare_history.usage_fraction IS 'decayed usage as a fraction of all usage, in a tree of the usage of its siblings; 0 to 1';
COMMENT ON COLUMN fairshare_history.priority IS 'fairshare priority by the operator, -1 to 1 (fair_tree and classic: as Slurm prints it); NULL without a target';
COMMENT ON COLUMN fairshare_history.rank IS 'rank by priority: 1 starts first; in a tree, rank among all users or all accounts; ties share the better rank; NULL without a target';
COMMENT ON COLUMN fairshare_history.run_id IS 'run that computed the row; see runs';
COMMENT ON COLUMN fairshare_history.partition IS 'partition to which the share of the user applies; NULL: all partitions';
COMMENT ON COLUMN fairshare_history.share_of_all IS 'target share of all usage; 0 to 1; NULL without a target, or with fairshare=parent';
COMMENT ON COLUMN fairshare_history.usage_of_all IS 'decayed usage as a fraction of the usage of all users; 0 to 1';
COMMENT ON COLUMN fairshare_history.level_fs IS 'LevelFS of Slurm''s Fair Tree, as sshare prints it: share / usage_fraction; ≥ 0, infinity without usage; NULL with fairshare=parent, or with another operator';
