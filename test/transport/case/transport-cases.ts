// Every case that a transport has to pass.
import type { TransportCase } from '../transport-contract.ts'
import { abortCases } from './abort-cases.ts'
import { exchangeCases } from './exchange-cases.ts'
import { refusalCases } from './refusal-cases.ts'
import { workCases } from './work-cases.ts'

export const transportCases: readonly TransportCase[] = [
  ...exchangeCases,
  ...abortCases,
  ...refusalCases,
  ...workCases,
]
