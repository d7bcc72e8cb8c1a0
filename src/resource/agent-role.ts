// Kind AgentRole: permissions under a name, which callers hold and approvals are decided by.
import Type from 'typebox'
import { documentSchema } from './document.ts'
import { documentFields, type FieldTable, field, NO } from './field-row.ts'
import { distinct, governanceDigest, identify } from './governance-part.ts'
import { type Kind, type Resolution, resolution, UNVERSIONED } from './kind.ts'
import { checkMetadata, isName } from './name.ts'
import { checkPermission, normalPermission } from './permission.ts'
import { createFindings } from './problem.ts'
import type { ResolvedRole } from './resolved-governance.ts'
import { DATA_CLASSIFICATIONS } from './resolved-tool.ts'
import { closed, Names } from './schema-part.ts'

const Spec = Type.Object(
  {
    description: Type.Optional(Type.String()),
    permissions: Type.Optional(Names),
    inherits: Type.Optional(Names),
    clearance: Type.Optional(Type.Enum(DATA_CLASSIFICATIONS)),
  },
  closed,
)

const RoleSchema = documentSchema('AgentRole', Spec)
export type RoleManifest = Type.Static<typeof RoleSchema>

// biome-ignore format: a row reads as a row
const FIELDS: FieldTable = {
  rows: [
    ...documentFields('AgentRole'),
    field('spec', 'object', NO, '002', 'now', 'What whoever has the role may do.'),
    field('spec.description', 'text', NO, '002', 'descriptive', 'For people. No part of the digest.'),
    field('spec.permissions', 'list of permissions', '[]', '002 S41', 'now', '`tool:NAME:invoke`, `capability:NAME`, `class:NAME`, or one for the doors beside calls. A `*` at the end of NAME stands for any rest, and does not cover irreversible, financial-high-impact and administrative tools.'),
    field('spec.inherits', 'list of roles', '[]', 'S41', 'now', 'Roles whose permissions it has as well. Unknown names and circles are errors.'),
    field('spec.clearance', 'public, internal, confidential, restricted', 'internal', 'S41', 'now', 'The highest data_classification that it may see the output of.', { reads: 'lower' }),
  ],
  sameShape: [],
}

export const AGENT_ROLE: Kind<'AgentRole', RoleManifest, ResolvedRole> = Object.freeze({
  name: 'AgentRole',
  singular: 'agent-role',
  plural: 'agent-roles',
  versioned: false,
  permission: 'governance:write',
  schema: RoleSchema,
  fields: FIELDS,
  resolve: resolveRole,
} as const)

function resolveRole(
  manifest: RoleManifest,
  { generation }: { readonly generation?: number },
): Resolution<ResolvedRole> {
  const { spec } = manifest
  const findings = createFindings()
  checkMetadata(findings, manifest.metadata)
  for (const [index, permission] of (spec.permissions ?? []).entries())
    checkPermission(findings, permission, ['spec', 'permissions', index])
  for (const [index, role] of (spec.inherits ?? []).entries()) {
    if (!isName(role.trim()))
      findings.error(
        ['spec', 'inherits', index],
        `'${role}' is no valid name`,
        'write the name of an AgentRole',
      )
  }
  const permissions = distinct((spec.permissions ?? []).map(normalPermission))
  const inherits = distinct(spec.inherits ?? [])
  if (permissions.length === 0 && inherits.length === 0)
    findings.warn(['spec'], 'permits nothing: it has no permissions and inherits none')
  const meaning = { permissions, inherits, clearance: spec.clearance ?? ('internal' as const) }
  const digest = governanceDigest('AgentRole', meaning)
  return resolution(findings.all, UNVERSIONED, digest, () => ({
    ...identify(manifest, digest, generation),
    description: spec.description ?? '',
    ...meaning,
  }))
}
