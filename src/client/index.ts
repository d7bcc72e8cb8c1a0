// The public names of writ/client.

export type {
  ApplyReply,
  CallPage,
  ExplainReply,
  HealthReply,
  ManifestProblem,
  Resource,
  ResourceDiff,
} from './api.ts'
export type {
  ApprovalClient,
  ApprovalDecisionShown,
  ApprovalListOptions,
  ApprovalNeedShown,
  ApprovalPage,
  ApprovalResource,
  GrantCondition,
  GrantRequest,
  GrantResource,
  InputChange,
  InputDiff,
} from './approvals.ts'
export type { AuditClient, AuditHead } from './audit.ts'
export type { CallFailure, CallReply } from './call-reply.ts'
export {
  type ApplyOptions,
  type CallListOptions,
  type CallRequestOptions,
  type Client,
  type ClientOptions,
  createClient,
} from './client.ts'
export { ClientError, type ClientErrorKind } from './client-error.ts'
export type {
  ActionReply,
  EffectClient,
  EffectPage,
  OpenEffect,
  SagaPage,
  SagaResource,
  SagaSummary,
  Verdict,
  VerifyReply,
} from './effects.ts'
export type { FreezeClient, FreezeResource } from './freezes.ts'
export type { Identity, IssuedTokenReply, Revocation, TokenClient, TokenRequest } from './tokens.ts'
