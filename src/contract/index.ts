// The public names of the contract: what a client, a tool or a test in TypeScript needs of it.

export {
  type Answer,
  type CallState,
  isOutcome,
  OPEN_STATES,
  type OpenState,
  OUTCOMES,
  type Outcome,
  type ToolUsage,
  type Usage,
} from './answer.ts'
export {
  type Call,
  type CallRecord,
  type Claims,
  type Constraints,
  DIALECT_NAMES,
  type DialectName,
  type Echo,
  JITTERS,
  type Jitter,
  type Trace,
} from './call.ts'
export { type CallOptions, createCall, withKey } from './call-options.ts'
export { type Caller, createCaller } from './caller.ts'
export { encodeCallResource } from './dialect/call-resource.ts'
export type {
  Decoded,
  Dialect,
  ExpectedReply,
  Mint,
  RefusedCall,
  ToolFailure,
  ToolReply,
  ToolRequest,
  ToolSuccess,
} from './dialect/dialect.ts'
export { encodeAnswer } from './dialect/encode-answer.ts'
export { answerRefused } from './dialect/refused-answer.ts'
export { createDialects, type DialectRegistry } from './dialect/registry.ts'
export { failureOfReply, type ReplyFailure } from './dialect/reply-failure.ts'
export {
  DETERMINISMS,
  type Determinism,
  EFFECT_CLASSES,
  EFFECT_STATES,
  type EffectClass,
  type EffectState,
} from './effect.ts'
export type { Failure } from './failure.ts'
export {
  FAILURE_IDS,
  FAILURES,
  type FailureId,
  type FailureRow,
  type FourOutcomeStatus,
  failureRow,
  GRPC_STATUS,
  type GrpcStatus,
  type RetryRule,
  type V1Status,
} from './failures.ts'
export {
  exitCodeOf,
  fixOf,
  fourOutcomeStatusOf,
  httpStatusOf,
  v1StatusOf,
  wireDetailsOf,
} from './projection.ts'
export { type CallResource, CallResourceSchema } from './schema/call-resource.ts'
export {
  type FourOutcomeRequest,
  FourOutcomeRequestSchema,
  type FourOutcomeResponse,
  FourOutcomeResponseSchema,
} from './schema/four-outcome.ts'
export {
  type LegacyRequest,
  LegacyRequestSchema,
  type LegacyResponse,
  LegacyResponseSchema,
} from './schema/legacy.ts'
export { SCHEMAS, type SchemaName } from './schema/registry.ts'
export { type V1Request, V1RequestSchema, type V1Response, V1ResponseSchema } from './schema/v1.ts'
export { CONTRACT_REVISION, CONTRACT_VERSION, isSupportedVersion } from './version.ts'
