// What the OpenAPI document says about the routes of a kind.
import type { AnyKind } from '../resource/kinds.ts'
import type { RouteDoc } from './edge.ts'
import { json, MANIFEST_BODY, parameter, REFUSALS, ref } from './openapi-parts.ts'
import { oneOf, wordOf } from './resource-precondition.ts'

export interface ResourceDocs {
  readonly list: RouteDoc
  readonly create: RouteDoc
  readonly get: RouteDoc
  readonly replace: RouteDoc
  readonly delete: RouteDoc
}

export function resourceDocs(kind: AnyKind): ResourceDocs {
  const { name, plural, versioned } = kind
  const word = wordOf(kind)
  const words = plural.replaceAll('-', ' ')
  const tags = ['resources'] as const
  const nameInPath = parameter('path', 'name', `The name of the ${word}.`)
  const version = (meaning: string) => (versioned ? [parameter('query', 'version', meaning)] : [])
  const refused = { description: 'Refused; `problems` says why.', ...json(ref('apply-result')) }
  const allOf = words.split(' ').map((part) => part.charAt(0).toUpperCase() + part.slice(1))
  return {
    list: {
      operationId: `list${allOf.join('')}`,
      summary: `List ${words}`,
      tags,
      responses: {
        200: {
          description: versioned ? `Every version of every ${word}.` : `Every ${word}.`,
          ...json(ref(`${kind.singular}-list`)),
        },
        ...REFUSALS,
      },
    },
    create: {
      operationId: `create${name}`,
      summary: `Create ${oneOf(kind)}${versioned ? ', or a new version of one' : ''}`,
      tags,
      requestBody: MANIFEST_BODY,
      responses: { 201: { description: 'Created.', ...json(ref('resource')) }, 422: refused, ...REFUSALS },
    },
    get: {
      operationId: `get${name}`,
      summary: `Show ${oneOf(kind)}`,
      tags,
      parameters: [nameInPath, ...version('An exact version; the highest when absent.')],
      responses: { 200: { description: 'Its manifest.', ...json(ref('resource')) }, ...REFUSALS },
    },
    replace: {
      operationId: `replace${name}`,
      summary: `Replace ${versioned ? 'a version of ' : ''}${oneOf(kind)}`,
      description: 'Needs the resourceVersion that was read, in If-Match or in metadata.resourceVersion.',
      tags,
      parameters: [
        nameInPath,
        parameter('header', 'If-Match', 'The ETag that was read, or `*` for whatever is there.'),
      ],
      requestBody: MANIFEST_BODY,
      responses: { 200: { description: 'Replaced.', ...json(ref('resource')) }, 422: refused, ...REFUSALS },
    },
    delete: {
      operationId: `delete${name}`,
      summary: `Delete ${oneOf(kind)}${versioned ? ', or one version of it' : ''}`,
      description: versioned
        ? 'Calls under way go on with the version they are pinned to.'
        : 'Refused with 409 while another resource names it.',
      tags,
      parameters: [
        nameInPath,
        ...version('An exact version; every version when absent.'),
        parameter('header', 'If-Match', 'The ETag that was read.'),
      ],
      responses: { 204: { description: 'Deleted.' }, ...REFUSALS },
    },
  }
}
