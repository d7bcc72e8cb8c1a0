// The typed event map. Facts in the past tense; never inputs, outputs or secrets (S53).

/** One start and one end per execution, with these fields (S53). */
export interface CallEvent {
  readonly call_id: string
  readonly tool_contract_version: string
  readonly tool_request_id: string
  readonly namespace: string
  readonly actor: string
  readonly tool_id: string
  readonly tool_version: string
  readonly fn: string
  readonly determinism: string
  readonly timeout_ms: number
  readonly idempotency_key_prefix: string
  readonly tool_auth_profile: string
  readonly tool_auth_secret_ref: string
  readonly trace_id: string
  readonly span_id: string
  readonly started_at: string
}

export interface CallEndedEvent extends CallEvent {
  readonly ended_at: string
  readonly duration_ms: number
  readonly tool_attempt: number
  readonly tool_status: string
  readonly tool_code: string
  readonly tool_reason: string
  readonly error_code: string
  readonly error_reason: string
  /** The four-outcome status. */
  readonly outcome: string
  readonly retryable: boolean
  readonly failure: string
  readonly state: string
  readonly effect: string
  readonly replayed: boolean
}

export interface EventMap {
  'call:started': CallEvent
  'call:ended': CallEndedEvent
  'attempt:failed': {
    readonly call_id: string
    readonly tool_id: string
    readonly attempt: number
    readonly failure: string
    readonly sent: boolean
    readonly retry_in_ms: number | null
  }
  /** An effect may have happened and nobody knows: a person or a status query settles it. */
  'entry:unknown': {
    readonly entry_id: string
    readonly call_id: string
    readonly tool_id: string
    readonly failure: string
  }
  /** A bug in Writ ended a call. */
  'call:faulted': { readonly call_id: string; readonly error: string }
  /** A function of this program threw something that is not meant for callers. */
  'tool:crashed': { readonly call_id: string; readonly tool_id: string; readonly error: string }
  /** A credential could not be had; with the address that was asked, which callers are not told. */
  'secret:failed': {
    readonly namespace: string
    readonly secret: string
    readonly provider: string
    readonly why: string
  }
  /** What a start found of earlier lives of the process. */
  'recovery:ended': { readonly unknown: number; readonly closed: number }
  'tool:applied': {
    readonly namespace: string
    readonly tool_id: string
    readonly version: string
    readonly digest: string
  }
  /** The tools of an MCP server were listed, or could not be. */
  'mcp:synced': {
    readonly namespace: string
    readonly server: string
    readonly phase: string
    readonly tools: number
    readonly quarantined: number
  }
  /** The server of a tool has changed it: calls are refused until somebody accepts that. */
  'tool:quarantined': { readonly namespace: string; readonly tool_id: string; readonly server: string }
  /** What was due could not be done; it is tried again. */
  'timer:failed': {
    readonly namespace: string
    readonly kind: string
    readonly subject: string
    readonly error: string
  }
  /** A target could not be told of an approval; `retry_in_ms` is null where it is given up. */
  'notify:failed': {
    readonly namespace: string
    readonly approval_id: string
    readonly event: string
    readonly channel: string
    readonly why: string
    readonly retry_in_ms: number | null
  }
  /** A call waits for people. */
  'approval:requested': {
    readonly namespace: string
    readonly approval_id: string
    readonly entry_id: string
    readonly call_id: string
    readonly tool_id: string
    readonly escalated: boolean
  }
  /** People have decided, or the question has ended without them. */
  'approval:decided': {
    readonly namespace: string
    readonly approval_id: string
    readonly entry_id: string
    readonly call_id: string
    readonly tool_id: string
    readonly state: string
    readonly waited_ms: number
  }
  /** An unknown effect is known now. */
  'entry:settled': {
    readonly entry_id: string
    readonly call_id: string
    readonly tool_id: string
    readonly state: string
    readonly by: 'status-query' | 'late-reply' | 'person' | 'repeat'
  }
  /** Entries of a process that ended were taken over. */
  'life:ended': { readonly epoch: string }
  /** A checkpoint could not be made, or not be kept outside the store; it is tried again, and calls go on. */
  'audit:failed': { readonly what: 'checkpoint' | 'anchor'; readonly message: string }
  /** Somebody starts on a store that was set back, and knows it. */
  'audit:rewound': { readonly message: string }
  /** The database cannot be reached; it is tried again until it can. */
  'store:away': { readonly message: string }
  'store:back': { readonly away_ms: number }
  /** The store can no longer be trusted to keep what it is told (S37). */
  /** `fenced`: it is this process that another one has ended (S35), and not the store. */
  'store:failed': { readonly message: string; readonly fenced?: boolean }
}

export type EventName = keyof EventMap
export type Listener<N extends EventName> = (event: EventMap[N]) => void

export interface Events {
  on<N extends EventName>(name: N, listener: Listener<N>): () => void
  emit<N extends EventName>(name: N, event: EventMap[N]): void
  /** Whether anyone listens; lets a hot path skip building an event. */
  heard(name: EventName): boolean
}

export function createEvents(): Events {
  const listeners = new Map<EventName, Set<Listener<never>>>()
  return {
    on(name, listener) {
      const set = listeners.get(name) ?? new Set()
      listeners.set(name, set.add(listener as Listener<never>))
      return () => set.delete(listener as Listener<never>)
    },
    emit(name, event) {
      const set = listeners.get(name)
      if (set === undefined) return
      for (const listener of set) {
        guarded(() => (listener as Listener<typeof name>)(event))
      }
    },
    heard: (name) => (listeners.get(name)?.size ?? 0) > 0,
  }
}

/** Whoever listens must not be able to stop a call. A fault of theirs still ends up where the program's others do. */
export function guarded(listen: () => void): void {
  try {
    listen()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
