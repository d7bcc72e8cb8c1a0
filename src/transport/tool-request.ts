// What a tool that speaks the contract is told of a call, whatever carries it there.
import type { ToolRequest } from '../contract/dialect/dialect.ts'
import { narrowAllowlist } from '../resource/net-allowlist.ts'
import { narrowScopes } from './credential-need.ts'
import type { Send } from './transport.ts'

/** Everything the caller's call carries goes along; the credential is where its profile puts it, and is not named here. */
export function toolRequestOf(send: Send): ToolRequest {
  const { tool, operation, constraints } = send
  const memoryMb = smaller(tool.limits.memoryMb, constraints?.memoryMb)
  const netAllowlist = narrowAllowlist(tool.netAllowlist, constraints?.netAllowlist)
  return {
    requestId: send.requestId,
    callId: send.callId,
    namespace: send.namespace,
    actor: send.actor,
    ...(send.taskId === undefined ? {} : { taskId: send.taskId }),
    ...(send.agent === undefined ? {} : { agent: send.agent }),
    tool: {
      name: tool.name,
      operation: operation.name,
      version: tool.version,
      digest: tool.digest,
      capabilities: tool.capabilities,
      riskLevel: tool.riskLevel,
    },
    ...(send.input === undefined ? {} : { input: send.input }),
    isolation: tool.isolation,
    timeoutMs: send.timeoutMs,
    deadlineUnixMs: send.deadlineUnixMs,
    attempt: send.attempt,
    key: send.key,
    trace: send.trace,
    ...(tool.auth === undefined ? {} : { scopes: narrowScopes(tool.auth.scopes, constraints?.scopes) }),
    ...(memoryMb === undefined ? {} : { memoryMb }),
    ...(netAllowlist === undefined ? {} : { netAllowlist }),
    ...(send.echo === undefined ? {} : { echo: send.echo }),
  }
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
