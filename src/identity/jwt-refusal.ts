// What the JWT library found wrong, as one of our reasons.
import { errors } from 'jose'
import { type Authenticated, refused } from './authenticate.ts'

export function refusalOf(error: unknown): Authenticated {
  if (error instanceof errors.JWTExpired) return refused('expired')
  if (error instanceof errors.JWTClaimValidationFailed) return claimRefusal(error)
  if (error instanceof errors.JWSSignatureVerificationFailed) return refused('signature-invalid')
  if (error instanceof errors.JOSEAlgNotAllowed) return refused('algorithm-refused')
  if (error instanceof errors.JWKSNoMatchingKey) return refused('unknown-key')
  if (error instanceof errors.JWKSMultipleMatchingKeys) return refused('unknown-key', 'several keys fit')
  // `crit`, `b64`, and algorithms that the library does not have.
  if (error instanceof errors.JOSENotSupported) return refused('algorithm-refused')
  if (error instanceof errors.JOSEError) return refused('malformed', error.code)
  // A key of the issuer that fits by name and cannot be used with this algorithm.
  if (error instanceof TypeError) return refused('algorithm-refused')
  throw error
}

function claimRefusal({ claim, reason }: errors.JWTClaimValidationFailed): Authenticated {
  if (claim === 'typ') return refused('wrong-type')
  if (claim === 'aud') return refused('other-audience')
  if (claim === 'iss') return refused('unknown-issuer')
  if (claim === 'nbf' && reason === 'check_failed') return refused('not-yet-valid')
  return refused('claims-invalid', `${claim}: ${reason}`)
}
