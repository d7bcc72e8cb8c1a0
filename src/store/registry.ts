// The engines, loaded only when chosen.
export const stores = {
  memory: async () => (await import('./memory/memory-store.ts')).createMemoryStore,
  sqlite: async () => (await import('./sqlite/sqlite-store.ts')).createSqliteStore,
  postgres: async () => (await import('./postgres/postgres-store.ts')).createPostgresStore,
} as const
