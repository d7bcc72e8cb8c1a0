// What authenticating a bearer token comes to: a caller, or the check that failed.
import type { Caller } from '../contract/caller.ts'

/**
 * Why a token is refused, with what its bearer is told. What a token says about itself (its times, its audience) is only
 * spoken of once its signature was found to be right: a forger learns nothing from the rest.
 */
export const TOKEN_REFUSALS = {
  missing: 'There is no bearer token.',
  malformed: 'The bearer token is not valid here.',
  'too-large': 'The bearer token is larger than any that is valid here.',
  'unknown-issuer': 'The issuer of the token is not known here.',
  'wrong-type': 'The token is of another type than those that are taken here.',
  'algorithm-refused': 'The token is signed in a way that is not taken here.',
  'unknown-key': 'The key that signed the token is not known here, or is no longer valid.',
  'signature-invalid': 'The signature of the token is not right.',
  expired: 'The token has expired.',
  'not-yet-valid': 'The token is not valid yet.',
  'other-audience': 'The token is for another audience.',
  'claims-invalid': 'The token does not say what it has to, or not in a way that can be read.',
  revoked: 'The token was revoked.',
  /** Nobody can tell by now; the same token may be good in a moment. */
  unavailable: 'Whether the token is valid cannot be found out at the moment.',
} as const
export type TokenRefusal = keyof typeof TOKEN_REFUSALS

export type Authenticated =
  | { readonly caller: Caller }
  /** `detail` is for whoever runs the server, never for the bearer. */
  | { readonly refused: TokenRefusal; readonly detail?: string }

/** Who a bearer token stands for. Nobody is the default (S41). */
export type Authenticate = (token: string | undefined) => Promise<Authenticated>

export function refused(why: TokenRefusal, detail?: string): Authenticated {
  return detail === undefined ? { refused: why } : { refused: why, detail }
}
