// The body of a kept resource, as text and back.
import { isJsonObject, type JsonObject } from '../util/json.ts'

/**
 * A body that somebody damaged is read as one without anything in it, which no kind of resource is. So what it was for is
 * known to be broken, a stop still stands, and the other rows can be read all the same.
 */
export function readResourceBody(text: string): JsonObject {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : {}
  } catch {
    return {}
  }
}
