// The public names of the library.
export type { Answer, CallState, OpenState, Outcome, Usage } from './contract/answer.ts'
export type { Approval, ApprovalDecision, ApprovalState } from './contract/approval.ts'
export type { Call, CallRecord, Trace } from './contract/call.ts'
export type { CallOptions } from './contract/call-options.ts'
export { type Caller, createCaller, createLocalAdmin } from './contract/caller.ts'
export type { Decision, DecisionKind } from './contract/decision.ts'
export type { EffectState } from './contract/effect.ts'
export type { EntryState } from './contract/entry.ts'
export type { Failure } from './contract/failure.ts'
export { FAILURES, type FailureId } from './contract/failures.ts'
export type { FreezeTarget } from './contract/freeze.ts'
export { exitCodeOf, httpStatusOf } from './contract/projection.ts'
export type { Saga, SagaState } from './contract/saga.ts'
export {
  defineOperation,
  defineTool,
  type NativeSpec,
  type NativeToolDefinition,
  type OperationDefinition,
  type SchemaLike,
  type ToolDefinition,
} from './define-tool.ts'
export { createEvents, type EventMap, type EventName, type Events } from './event/event.ts'
export { createRuntime, createWorld, type RuntimeOptions, type StoreChoice } from './runtime.ts'
export type {
  ActionResult,
  ApplyOutcome,
  ApprovalDiff,
  ApprovalDoor,
  ApprovalResult,
  ApprovalView,
  AuditDoor,
  CallerDoor,
  CallerIdentity,
  CallFact,
  CallHandle,
  Explanation,
  FreezeDoor,
  FreezeResult,
  GrantResult,
  GrantView,
  GrantWish,
  OpenEntry,
  ResourceDoor,
  Runtime,
  RuntimeHealth,
  SagaMember,
  SagaResult,
  SagaView,
  StageReport,
  ToolVerdict,
} from './runtime-api.ts'
export type { Store } from './store/store.ts'
export type { NativeContext } from './transport/native.ts'
export { ToolError } from './transport/tool-error.ts'
export type { World } from './util/world.ts'
