// Every runtime that is wrong on purpose, with the requirements that it breaks.

import { AUTH_MUTANTS } from './auth-mutants.ts'
import { CONTRACT_MUTANTS } from './contract-mutants.ts'
import type { Mutant } from './mutant.ts'
import { POLICY_MUTANTS } from './policy-mutants.ts'
import { RECORD_MUTANTS } from './record-mutants.ts'

export const MUTANTS: readonly Mutant[] = [
  ...CONTRACT_MUTANTS,
  ...AUTH_MUTANTS,
  ...POLICY_MUTANTS,
  ...RECORD_MUTANTS,
]
