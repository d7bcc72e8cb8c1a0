// Every case, in the order of the groups.

import { authCases } from './case/auth-cases.ts'
import { contractCases } from './case/contract-cases.ts'
import { isolationCases } from './case/isolation-cases.ts'
import { observationCases } from './case/observation-cases.ts'
import { policyCases } from './case/policy-cases.ts'
import { profileCases } from './case/profile-cases.ts'
import { replayCases } from './case/replay-cases.ts'
import { retryCases } from './case/retry-cases.ts'
import { timeCases } from './case/time-cases.ts'
import type { Case } from './case.ts'

export const CASES: readonly Case[] = Object.freeze([
  ...contractCases,
  ...timeCases,
  ...retryCases,
  ...authCases,
  ...profileCases,
  ...policyCases,
  ...isolationCases,
  ...observationCases,
  ...replayCases,
])
