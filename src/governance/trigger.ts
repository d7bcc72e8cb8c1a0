// approval_triggers of a tool: literal comparisons on the input that make a call wait for somebody.
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import { sayCondition } from './condition.ts'
import type { CompiledRule } from './policy-rule.ts'
import { type FieldList, readConditions } from './reading.ts'

export function compileTriggers(
  tool: ResolvedTool,
  operation: ResolvedOperation,
  fields: FieldList,
): readonly CompiledRule[] {
  return operation.approvalTriggers.map((trigger, index): CompiledRule => {
    const match = {
      policyId: `Tool/${tool.name}`,
      policyVersion: toolVersion(tool),
      rule: `approval_triggers[${index}]`,
      decision: 'require-approval',
      code: 'approval-trigger',
      reason: trigger.reason ?? sayCondition(trigger, operation.inputSchema),
    } as const
    return {
      when: readConditions([trigger], fields),
      certain: false,
      found: { match, approval: tool.approval },
    }
  })
}

export function toolVersion({ version, digest }: ResolvedTool): string {
  return `${version}-${digest.replace(/^sha256:/, '').slice(0, 12)}`
}
