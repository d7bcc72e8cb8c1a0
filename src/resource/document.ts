// What every manifest has around its spec, whatever its kind.
import Type from 'typebox'
import { closed, StringMap } from './schema-part.ts'

export const API_VERSION = 'writ.dev/v1'
/** Read as ours: manifests written for the system that seed 002 describes. */
export const API_VERSIONS = [API_VERSION, 'orloj.dev/v1'] as const

export const Metadata = Type.Object(
  {
    name: Type.String(),
    namespace: Type.Optional(Type.String()),
    labels: Type.Optional(StringMap),
    annotations: Type.Optional(StringMap),
    resourceVersion: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,15}$' })], {
        expected: 'the number that was read back',
      }),
    ),
    generation: Type.Optional(Type.Integer({ minimum: 0 })),
    createdAt: Type.Optional(Type.String()),
    updatedAt: Type.Optional(Type.String()),
  },
  closed,
)

/** What a server shows of a resource. Read back and left alone, so that what was shown can be applied again. */
export const Status = Type.Object({
  phase: Type.Optional(Type.String()),
  lastError: Type.Optional(Type.String()),
  observedGeneration: Type.Optional(Type.Integer()),
  digest: Type.Optional(Type.String()),
})

/** The head of a manifest: what is read of one before its kind matters. */
export interface ManifestHead {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Type.Static<typeof Metadata>
}

/** The schema of a whole document of one kind. */
export function documentSchema<K extends string, S extends Type.TSchema>(
  kind: K,
  spec: S,
  status: Type.TObject = Status,
) {
  return Type.Object(
    {
      apiVersion: Type.Enum([API_VERSION]),
      kind: Type.Enum([kind]),
      metadata: Metadata,
      spec,
      status: Type.Optional(status),
    },
    closed,
  )
}
