// What a test needs of the report of a seed.
import type { SimReport } from './sim-report.ts'

export interface SeedLine {
  readonly seed: number
  readonly hash: string
  readonly events: number
  readonly violation?: { readonly invariant: string; readonly message: string }
}

export function lineOf({ seed, hash, counts, violation }: SimReport): SeedLine {
  return { seed, hash, events: counts.events, ...(violation === undefined ? {} : { violation }) }
}
