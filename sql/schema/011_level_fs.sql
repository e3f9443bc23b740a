-- Slurm's LevelFS, of the operator fair_tree.
ALTER TABLE fairshare_result ADD COLUMN level_fs DOUBLE;
