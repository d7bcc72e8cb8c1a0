// Applies a set of manifests, all or nothing.
import { askedNamespace } from './auth.ts'
import { readBody } from './body.ts'
import type { Edge, Route } from './edge.ts'
import { json, MANIFEST_BODY, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { readFlag, readQuery } from './query.ts'
import { sendJson } from './reply.ts'
import { requireApply } from './require-apply.ts'
import { resourceOfRow } from './tool-resource.ts'

export function applyRoutes(edge: Edge): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/apply',
      access: 'caller',
      whileDraining: false,
      async handle({ request, reply, caller }) {
        const query = readQuery(request.query, ['dry_run'])
        const dryRun = readFlag('dry_run', query.dry_run)
        const text = await readBody(request, 'manifest', edge.bodyLimit)
        // Where none is asked for, the manifests say; whoever is in one namespace stays in it.
        const namespace = askedNamespace(request) ?? (caller.admin ? undefined : caller.namespace)
        await requireApply(edge, caller, text)
        const outcome = await edge.runtime.resources.apply([{ text, file: 'body' }], {
          ...(namespace === undefined ? {} : { namespace }),
          dryRun,
        })
        sendJson(reply, outcome.ok ? 200 : 422, {
          ok: outcome.ok,
          dry_run: dryRun,
          diff: outcome.diff,
          problems: outcome.problems,
          resources: outcome.rows.map(resourceOfRow),
        })
      },
      doc: {
        operationId: 'apply',
        summary: 'Apply manifests',
        description:
          'YAML of one or more documents, or JSON. Either everything is written or nothing. Needs `resource:write` for tools, `governance:write` for what governs them, `secret:write` for secrets, `mcp:write` for MCP servers.',
        tags: ['resources'],
        parameters: [
          parameter('query', 'dry_run', 'Shows what would change and writes nothing.', {
            type: 'boolean',
            default: false,
          }),
        ],
        requestBody: MANIFEST_BODY,
        responses: {
          200: { description: 'Applied, or with `dry_run` what would be.', ...json(ref('apply-result')) },
          422: {
            description: 'Refused; `problems` says why. Nothing was written.',
            ...json(ref('apply-result')),
          },
          ...REFUSALS,
        },
      },
    },
  ]
}
