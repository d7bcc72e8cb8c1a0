// Kind Tool among the other kinds.
import { FIELDS, SAME_SHAPE } from './field-table.ts'
import type { Kind, KindResolveOptions } from './kind.ts'
import { resolveTool } from './resolve-tool.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import { type ToolManifest, ToolSchema } from './tool.ts'

export const TOOL: Kind<'Tool', ToolManifest, ResolvedTool> = Object.freeze({
  name: 'Tool',
  singular: 'tool',
  plural: 'tools',
  versioned: true,
  permission: 'resource:write',
  schema: ToolSchema,
  fields: Object.freeze({ rows: FIELDS, sameShape: SAME_SHAPE }),
  resolve(manifest: ToolManifest, options: KindResolveOptions) {
    const { tool, errors, warnings } = resolveTool(manifest, options)
    const version = manifest.spec.version ?? '0.0.0'
    if (tool === undefined) return { digest: '', version, errors, warnings }
    return { resolved: tool, digest: tool.digest, version, errors, warnings }
  },
} as const)
