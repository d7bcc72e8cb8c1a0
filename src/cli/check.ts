// One finding of `writ doctor`.

export type Verdict = 'ok' | 'warn' | 'fail'

export interface Check {
  readonly name: string
  readonly verdict: Verdict
  readonly detail: string
  /** What to do about it; absent when nothing is wrong. */
  readonly fix?: string
}

export function ok(name: string, detail: string): Check {
  return { name, verdict: 'ok', detail }
}

export function warn(name: string, detail: string, fix: string): Check {
  return { name, verdict: 'warn', detail, fix }
}

export function fail(name: string, detail: string, fix: string): Check {
  return { name, verdict: 'fail', detail, fix }
}
