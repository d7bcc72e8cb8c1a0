// The resource that may have been meant by a name that none has.
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/client-error.ts'
import { didYouMean } from '../util/did-you-mean.ts'

/** The fix for an unknown tool where a name is close. Not everybody may see names: for others there is nothing to propose. */
export async function suggestTool(client: Client, name: string): Promise<string | undefined> {
  return suggestion(name, (await toolNames(client)) ?? [])
}

/** Runs `work` on a tool; where the server does not know it, the refusal says which one may be meant. */
export async function namingTool<T>(client: Client, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ClientError) || error.failure !== 'tool-unknown') throw error
    const fix = await suggestTool(client, name)
    throw fix === undefined ? error : error.withFix(fix)
  }
}

/** A sentence about a tool that is not there; undefined where it is, or where its names are not to be seen. */
export async function unknownTool(client: Client, name: string): Promise<string | undefined> {
  const names = await toolNames(client)
  if (names === undefined || names.includes(name)) return undefined
  const said = `there is no tool '${name}' in this namespace now`
  const meant = suggestion(name, names)
  return meant === undefined ? said : `${said}: ${meant}`
}

async function toolNames(client: Client): Promise<readonly string[] | undefined> {
  try {
    return (await client.listTools()).map(({ metadata }) => metadata.name)
  } catch (error) {
    // What was asked for is answered already; only the proposal is missing.
    if (error instanceof ClientError) return undefined
    throw error
  }
}

export function suggestion(name: string, names: Iterable<string>): string | undefined {
  const close = didYouMean(name, names)
  return close === undefined ? undefined : `did you mean '${close}'?`
}

/** Runs `work` on a resource; where the server does not know it, the refusal says which one may be meant. */
export async function namingResource<T>(
  client: Client,
  plural: string,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ClientError) || error.status !== 404) throw error
    const names = await client.listResources(plural).catch((failed: unknown) => {
      if (failed instanceof ClientError) return []
      throw failed
    })
    const others = names.map(({ metadata }) => metadata.name)
    const fix = others.includes(name) ? undefined : suggestion(name, others)
    throw fix === undefined ? error : error.withFix(fix)
  }
}
