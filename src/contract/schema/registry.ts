// Every public schema of the contract, by the name of its pin. The OpenAPI document and the pins are made from this.
import type { JsonObject } from '../../util/json.ts'
import { CallResourceSchema } from './call-resource.ts'
import {
  FourOutcomeRequestSchema,
  FourOutcomeResponseSchema,
  FourOutcomeRetryPolicySchema,
} from './four-outcome.ts'
import { LegacyRequestSchema, LegacyResponseSchema } from './legacy.ts'
import { V1RequestSchema, V1ResponseSchema } from './v1.ts'

export const SCHEMAS = Object.freeze({
  'v1-request': V1RequestSchema as unknown as JsonObject,
  'v1-response': V1ResponseSchema as unknown as JsonObject,
  'legacy-request': LegacyRequestSchema as unknown as JsonObject,
  'legacy-response': LegacyResponseSchema as unknown as JsonObject,
  'four-outcome-request': FourOutcomeRequestSchema as unknown as JsonObject,
  'four-outcome-response': FourOutcomeResponseSchema as unknown as JsonObject,
  'four-outcome-retry-policy': FourOutcomeRetryPolicySchema as unknown as JsonObject,
  call: CallResourceSchema as unknown as JsonObject,
})

export type SchemaName = keyof typeof SCHEMAS
