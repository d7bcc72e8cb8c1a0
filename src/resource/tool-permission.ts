// Kind ToolPermission: what one tool demands of whom, and what each class of its operations needs.
import Type from 'typebox'
import { documentSchema } from './document.ts'
import { documentFields, type FieldTable, field, NO } from './field-row.ts'
import {
  distinct,
  governanceDigest,
  identify,
  resolveApproval,
  resolveTargetNames,
} from './governance-part.ts'
import { type Kind, type Resolution, resolution, UNVERSIONED } from './kind.ts'
import { checkMetadata, isName } from './name.ts'
import { checkRequired, normalPermission } from './permission.ts'
import { createFindings, type Findings } from './problem.ts'
import type { OperationVerdict, ResolvedToolPermission } from './resolved-governance.ts'
import { OPERATION_CLASSES } from './resolved-tool.ts'
import { ApprovalSchema, closed, Names } from './schema-part.ts'

/** From the weakest to the strictest. */
const VERDICTS = ['allow', 'approval_required', 'deny'] as const

const Spec = Type.Object(
  {
    tool_ref: Type.Optional(Type.String()),
    action: Type.Optional(Type.Enum(['invoke'])),
    required_permissions: Type.Optional(Names),
    match_mode: Type.Optional(Type.Enum(['all', 'any'])),
    apply_mode: Type.Optional(Type.Enum(['global', 'scoped'])),
    target_agents: Type.Optional(Names),
    operation_rules: Type.Optional(
      Type.Array(
        Type.Object(
          {
            operation_class: Type.Optional(Type.Enum([...OPERATION_CLASSES, '*'])),
            verdict: Type.Optional(Type.Enum(VERDICTS)),
          },
          closed,
        ),
      ),
    ),
    approval: Type.Optional(ApprovalSchema),
  },
  closed,
)

const PermissionSchema = documentSchema('ToolPermission', Spec)
export type PermissionManifest = Type.Static<typeof PermissionSchema>

// biome-ignore format: a row reads as a row
const FIELDS: FieldTable = {
  rows: [
    ...documentFields('ToolPermission'),
    field('spec', 'object', NO, '002', 'now', 'What is demanded.'),
    field('spec.tool_ref', 'name of a tool', 'metadata.name', '002', 'now', 'The tool that it is about, in all its versions.', { aliases: ['spec.toolRef'] }),
    field('spec.action', 'invoke', 'invoke', '002', 'now', 'The only action that there is.', { reads: 'lower' }),
    field('spec.required_permissions', 'list of permissions', '[]', '002', 'now', 'Demanded beside what the tool itself demands (S41).', { aliases: ['spec.requiredPermissions'] }),
    field('spec.match_mode', 'all, any', 'all', '002', 'now', 'Whether all of required_permissions are needed, or one of them.', { reads: 'lower', aliases: ['spec.matchMode'] }),
    field('spec.apply_mode', 'global, scoped', 'global', '002', 'now', 'global: for every caller. scoped: for target_agents only.', { reads: 'lower', aliases: ['spec.applyMode'] }),
    field('spec.target_agents', 'list of callers and agents', '[]', '002', 'now', 'Needed with apply_mode scoped. A `*` at the end of one stands for any rest.', { aliases: ['spec.targetAgents'] }),
    field('spec.operation_rules', 'list', '[]', '002 S42', 'now', 'Every rule that matches a class of the operation counts, `*` too; the strictest wins.', { aliases: ['spec.operationRules'] }),
    field('spec.operation_rules[]', 'object', NO, '002', 'now', 'One rule.'),
    field('spec.operation_rules[].operation_class', 'read, write, delete, admin, *', '*', '002', 'now', 'The class that it is about.', { reads: 'lower', aliases: ['spec.operation_rules[].operationClass'] }),
    field('spec.operation_rules[].verdict', 'allow, deny, approval_required', 'allow', '002', 'now', 'What becomes of such a call.', { reads: 'lower' }),
    field('spec.approval', 'object', NO, 'S45', 'now', 'Who decides where a rule says approval_required.'),
    field('spec.approval.role', 'name of an AgentRole', 'whoever may decide approvals', 'S45', 'now', 'Only holders of this role decide.'),
    field('spec.approval.quorum', '1 to 100', '1', 'S45', 'now', 'How many of them have to agree.'),
    field('spec.approval.ttl', 'duration', '10m', '002 S45', 'now', 'Not decided by then: expired. 1s to 720h.'),
  ],
  sameShape: [],
}

export const TOOL_PERMISSION: Kind<'ToolPermission', PermissionManifest, ResolvedToolPermission> =
  Object.freeze({
    name: 'ToolPermission',
    singular: 'tool-permission',
    plural: 'tool-permissions',
    versioned: false,
    permission: 'governance:write',
    schema: PermissionSchema,
    fields: FIELDS,
    resolve: resolvePermission,
  } as const)

function resolvePermission(
  manifest: PermissionManifest,
  { generation }: { readonly generation?: number },
): Resolution<ResolvedToolPermission> {
  const { spec, metadata } = manifest
  const findings = createFindings()
  checkMetadata(findings, metadata)
  const tool = spec.tool_ref ?? metadata.name
  if (spec.tool_ref !== undefined && !isName(tool)) {
    findings.error(['spec', 'tool_ref'], `'${tool}' is no valid name`, 'write the name of one tool')
  }
  for (const [index, permission] of (spec.required_permissions ?? []).entries())
    checkRequired(findings, permission, ['spec', 'required_permissions', index])
  const meaning = {
    tool,
    action: spec.action ?? 'invoke',
    requiredPermissions: distinct((spec.required_permissions ?? []).map(normalPermission)),
    matchMode: spec.match_mode ?? ('all' as const),
    targets: resolveTargets(findings, spec),
    operationRules: resolveRules(findings, spec),
    approval: resolveApproval(findings, spec.approval, ['spec', 'approval']),
  }
  if (meaning.requiredPermissions.length === 0 && meaning.operationRules.length === 0)
    findings.warn(['spec'], 'demands nothing: it has no required_permissions and no operation_rules')
  const digest = governanceDigest('ToolPermission', meaning)
  return resolution(findings.all, UNVERSIONED, digest, () => ({
    ...identify(manifest, digest, generation),
    ...meaning,
  }))
}

function resolveTargets(
  findings: Findings,
  { apply_mode: applyMode = 'global', target_agents: written }: PermissionManifest['spec'],
): ResolvedToolPermission['targets'] {
  const agents = resolveTargetNames(findings, written, ['spec', 'target_agents'])
  if (applyMode === 'scoped' && agents.length === 0) {
    const fix = 'list those it is for, or write apply_mode: global'
    findings.error(['spec', 'target_agents'], 'is empty, and apply_mode is scoped', fix)
  } else if (applyMode === 'global' && agents.length > 0) {
    findings.warn(
      ['spec', 'target_agents'],
      'has no effect: apply_mode is global, so it is for everybody',
      'write apply_mode: scoped, or remove it',
    )
  }
  return { applyMode, agents, systems: [], tasks: [] }
}

/** Every rule that matches counts, so one that is weaker than another for the same class never shows. */
function resolveRules(
  findings: Findings,
  { operation_rules: written = [] }: PermissionManifest['spec'],
): OperationVerdict[] {
  const rules = written.map(({ operation_class: operationClass = '*', verdict = 'allow' }) => ({
    operationClass,
    verdict,
  }))
  for (const [index, rule] of rules.entries()) {
    const stricter = rules.findIndex((other) => {
      const covers = other.operationClass === '*' || other.operationClass === rule.operationClass
      return covers && VERDICTS.indexOf(other.verdict) > VERDICTS.indexOf(rule.verdict)
    })
    if (stricter === -1) continue
    findings.warn(
      ['spec', 'operation_rules', index],
      `has no effect: operation_rules[${stricter}] matches the same calls and is stricter`,
      'remove one of the two',
    )
  }
  return rules
}
