-- The tables of a database, and everything except views that could act when these are read or written.
SELECT 'table' AS kind, schema_name, table_name AS name, sql FROM system.main.duckdb_tables() WHERE NOT internal
UNION ALL
SELECT 'function', schema_name, function_name, macro_definition FROM system.main.duckdb_functions() WHERE NOT internal
UNION ALL
SELECT 'type', schema_name, type_name, NULL FROM system.main.duckdb_types() WHERE NOT internal
UNION ALL
SELECT 'schema', schema_name, NULL, sql FROM system.main.duckdb_schemas() WHERE NOT internal
UNION ALL
SELECT 'sequence', schema_name, sequence_name, sql FROM system.main.duckdb_sequences()
UNION ALL
SELECT 'index', schema_name, index_name, sql FROM system.main.duckdb_indexes()
UNION ALL
SELECT 'trigger', schema_name, trigger_name, NULL FROM system.main.duckdb_triggers()
ORDER BY ALL
