// A bound on the work of one run. Some schemas and values multiply: a union of shapes that refer to the union is tried
// again in each of its shapes, at every level.

/** Thrown to leave a run that has done enough. */
export class WorkStop extends Error {
  override readonly name = 'WorkStop'
  /** What the run had found so far. */
  readonly found: unknown

  constructor(found: unknown) {
    super('the work of this run is used up')
    this.found = found
  }
}

export class Work {
  /** Steps that may still be done. One is some tenths of a microsecond. */
  left = 0

  spend(steps: number): void {
    this.left -= steps
    if (this.left < 0) throw this.stop(undefined)
  }

  stop(found: unknown): WorkStop {
    return new WorkStop(found)
  }
}
