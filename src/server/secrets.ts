// A newer master key for the secrets in the store, over HTTP. The secrets themselves have the routes of every kind.
import type { KeyRotation } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import type { Edge, Route } from './edge.ts'
import { json, REFUSALS, ref } from './openapi-parts.ts'
import { readQuery } from './query.ts'
import { Refusal } from './refusal.ts'
import { sendJson } from './reply.ts'

export function secretRoutes({ runtime }: Edge): readonly Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/secrets/rotate-key',
      access: 'admin',
      whileDraining: false,
      async handle({ request, reply, caller }) {
        readQuery(request.query, [])
        sendJson(reply, 200, encode(await rotated(() => runtime.secrets.rotateKey(caller))))
      },
      doc: {
        operationId: 'rotateSecretKey',
        summary: 'Wrap the keys of all secrets with a new master key',
        description:
          'Where the server may write the source of the master key, a new one is made first; else the newest that it holds is taken. Calls go on meanwhile. For the admin.',
        tags: ['resources'],
        responses: { 200: { description: 'What was done.', ...json(ref('secret-key')) }, ...REFUSALS },
      },
    },
  ]
}

/** What is wrong with the source of the key is for the admin to mend, and no fault of the server. */
async function rotated(rotate: () => Promise<KeyRotation>): Promise<KeyRotation> {
  try {
    return await rotate()
  } catch (error) {
    // By its name: how keys are kept is not for this layer to know.
    if (!(error instanceof Error && error.name === 'MasterKeyUnavailable')) throw error
    const [message = '', fix = 'See the guide on secrets.'] = error.message.split('. Fix: ')
    throw new Refusal({
      failure: 'envelope-invalid',
      status: 409,
      message: `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
      fix,
      details: { violations: [{ path: '/path', message: 'cannot be done here' }] },
    })
  }
}

function encode({ keyId, added, rewrapped, left, unopened, unused }: KeyRotation): JsonObject {
  return {
    key_id: keyId,
    added,
    rewrapped,
    left,
    unopened: unopened.map(({ namespace, name, why }) => ({ namespace, name, why })),
    unused: [...unused],
  }
}
