// The TypeScript types of the four-outcome contract (seed 004, 8.1), for tools and agents that speak it.

export type Status = 'success' | 'retryable_error' | 'terminal_error' | 'invalid_request'

export interface RetryPolicy {
  max_attempts: number
  base_ms: number
  cap_ms: number
  jitter: 'none' | 'full'
}

export interface CallConstraints {
  timeout_ms: number
  deadline_unix_ms: number
  idempotency_key: string
  memory_mb_limit?: number
  net_allowlist?: string[]
  retry_policy?: RetryPolicy
}

export interface CallContext {
  actor_id: string
  scopes?: string[]
  trace_id: string
  parent_span_id?: string
  locale?: string
  timezone: string
  clock?: 'monotonic' | 'wall'
  env: 'prod' | 'staging' | 'dev'
}

export interface ToolRequest<I = unknown> {
  call_id: string
  tool_id: string
  /** A semver version or range. */
  tool_version: string
  fn: string
  input: I
  context: CallContext
  constraints: CallConstraints
  provenance?: Record<string, unknown>
  dry_run?: boolean
}

export interface ToolError {
  code: string
  message: string
  details?: Record<string, unknown>
}

export interface ToolResponse<O = unknown> {
  call_id: string
  status: Status
  output?: O
  error?: ToolError
  side_effects?: Array<Record<string, unknown>>
  metrics: { duration_ms: number; cpu_ms?: number; memory_peak_mb?: number }
  provenance: { tool_id: string; tool_version: string; digest?: string }
  warnings?: string[]
  commit_token?: string | null
}
