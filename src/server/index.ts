// The public names of `writ/server`.
export { type Authenticate, createAdminTokenAuth } from './admin-token.ts'
export type { ServerMetrics } from './edge.ts'
export { createServer, type Server, type ServerLimits, type ServerOptions } from './server.ts'
