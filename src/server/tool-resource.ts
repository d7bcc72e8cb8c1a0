// A tool as /v1/tools shows it: a manifest that can be applied again, with what the server knows of it.
import rcompare from 'semver/functions/rcompare.js'
import { API_VERSION } from '../resource/document.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { ResourceRow } from '../store/store.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'

export function resourceOfRow(row: ResourceRow): JsonObject {
  const metadata = isJsonObject(row.body.metadata) ? row.body.metadata : {}
  return {
    ...row.body,
    metadata: {
      ...metadata,
      name: row.name,
      namespace: row.namespace,
      resourceVersion: row.resourceVersion,
      generation: row.generation,
      createdAt: new Date(row.createdAt).toISOString(),
      updatedAt: new Date(row.updatedAt).toISOString(),
    },
    status: { digest: row.digest },
  }
}

/** A tool of the program itself (S55). It has no manifest: this is read, never applied. */
export function resourceOfNative(tool: ResolvedTool): JsonObject {
  return {
    apiVersion: API_VERSION,
    kind: 'Tool',
    metadata: { name: tool.name, namespace: tool.namespace },
    spec: {
      type: tool.type,
      version: tool.version,
      description: tool.description,
      ...(tool.owner === '' ? {} : { owner: tool.owner }),
      capabilities: tool.capabilities,
      risk_level: tool.riskLevel,
      operations: Object.fromEntries(
        Object.values(tool.operations)
          .filter((operation) => !operation.internal)
          .map((operation) => [
            operation.name,
            {
              description: operation.description,
              ...(operation.inputSchema === undefined ? {} : { input_schema: operation.inputSchema }),
              ...(operation.outputSchema === undefined ? {} : { output_schema: operation.outputSchema }),
              operation_classes: operation.classes,
              effect: { class: operation.effect.class, determinism: operation.effect.determinism },
            },
          ]),
      ),
    },
    status: { digest: tool.digest },
  }
}

/** By name, then the highest version first. */
export function sortResources<T extends { readonly name: string; readonly version: string }>(
  rows: readonly T[],
): T[] {
  return rows.toSorted((a, b) =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : rcompare(a.version, b.version),
  )
}
