// Who shares a store, and how they wake each other.

/** One process life that shares the store. */
export interface Life {
  readonly epoch: string
  /** Counts the lives of a store, in the order in which they started. */
  readonly ordinal: number
  /** The newest life that this one knew of when it counted `over`: it keeps to its share among those (S38). */
  readonly seen: number
  /** Limits that it is still over, by name: it had more under way when its share became smaller. */
  readonly over: Readonly<Record<string, number>>
}

/**
 * Who shares the store (S35). Every write of a life renews its lease; a life that was ended by another process is fenced:
 * the store refuses everything it still sends, and fails for good.
 */
export interface LifeStore {
  /** Infinity where one process owns the store alone: its lock ends with it. */
  readonly leaseMs: number
  /** Monotonic time until which this process may send: a third of the lease is then left (S35). */
  readonly sendUntil: number
  /**
   * Renews the lease, and tells of all lives that are not ended, by ordinal. `over` was counted by what this life knew of
   * the others, up to the life with ordinal `seen`: only that is what they may rely on.
   */
  renew(over: Readonly<Record<string, number>>, seen: number): Promise<readonly Life[]>
  /** Ends lives whose lease is over by the store's clock. Gives their epochs. */
  reap(): Promise<readonly string[]>
  /** The last write of a life that goes in order: others need not wait for its lease to end. */
  end(): Promise<void>
}

/** How processes that share a store wake each other. Only a hint: whoever waits polls as well (S38). */
export interface Peers {
  /** Somebody here waits for this entry: whoever settles it elsewhere tells. Costs no revision. */
  await(namespace: string, entryId: string): Promise<void>
  /** Hears of entries that were waited for here and were settled elsewhere, and of cancel requests for own ones. */
  onChanged(listener: (entryId: string) => void): () => void
}
