// The public names of the conformance suite.
export { BACKEND_NAMES, type BackendName, loadBackend } from './backend/registry.ts'
export type { Case } from './case.ts'
export { CASES } from './cases.ts'
export type { Checks } from './check.ts'
export {
  createEndpointSubject,
  createSubject,
  type LogCapture,
  type SubjectOptions,
  SubjectRefused,
  TIMEOUT_BOUNDS,
} from './create-subject.ts'
export { toJunit } from './junit.ts'
export { NothingToTest, type Probe, type Probes } from './probe.ts'
export {
  type GroupReport,
  type Report,
  type RequirementReport,
  STATUSES,
  type Status,
} from './report.ts'
export {
  EXIT_CRITERIA,
  GROUPS,
  REQUIREMENTS,
  type Requirement,
  type RequirementGroup,
  type RequirementId,
  UNCOVERED,
} from './requirements.ts'
export { type RunOptions, RunStopped, runConformance } from './run-conformance.ts'
export type {
  CallerChoice,
  Declared,
  IsolationFacts,
  Presents,
  SecretChoice,
  StartedCall,
  Subject,
  SubjectEvent,
  ToolSend,
} from './subject.ts'
export { type Declaration, OPERATIONS, type OperationName, TOOLS, type ToolName } from './tools.ts'
