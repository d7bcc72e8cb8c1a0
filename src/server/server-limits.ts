// Bounds on what callers can hold, whatever they speak.

/** Bounds on what a slow or greedy peer can hold. */
export interface ServerLimits {
  /** From the first byte of a request to the end of its headers. @default 10 s */
  readonly headersTimeoutMs: number
  /** From the first byte of a request to its last. @default 60 s */
  readonly requestTimeoutMs: number
  /** How long an idle connection is kept. @default 30 s */
  readonly keepAliveTimeoutMs: number
  /** How long a request that was answered early may go on sending. @default 5 s */
  readonly lingerMs: number
  /** Connections at once; more are closed unanswered. @default 4096 */
  readonly maxConnections: number
}

export const DEFAULT_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 30_000,
  lingerMs: 5000,
  maxConnections: 4096,
}
export const DEFAULT_BODY_LIMIT = 4 * 1024 * 1024
