// The resource that may have been meant by a name that none has.
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/client-error.ts'
import { didYouMean } from '../util/did-you-mean.ts'

/** The fix for an unknown tool where a name is close. Not everybody may see names: for others there is nothing to propose. */
export async function suggestTool(client: Client, name: string): Promise<string | undefined> {
  return (await serverInError(client, name)) ?? suggestion(name, (await toolNames(client)) ?? [])
}

/** A tool of an MCP server is made when its server can be asked. */
async function serverInError(client: Client, tool: string): Promise<string | undefined> {
  const servers = tool.includes('--') ? await namesOrNothing(client.listResources('mcp-servers')) : []
  const server = servers?.find(({ metadata }) => tool.startsWith(`${metadata.name}--`))
  if (server?.status.phase !== 'Error') return undefined
  const { name } = server.metadata
  return `the MCP server '${name}' is in Error, so its tools may not be known yet: 'writ describe mcp-server ${name}' says why`
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

/** The same for a tool of an MCP server, where the server speaks of its routes. */
export async function namingMcpTool<T>(client: Client, name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    if (error.failure === 'tool-unknown')
      throw error.withFix(
        (await suggestTool(client, name)) ?? "use the name of one that 'writ get tools' lists",
      )
    if (error.details.offered === undefined) throw error
    throw error.withFix(`look at 'writ tool diff ${name}' again, and accept what it shows`)
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
  return (await namesOrNothing(client.listTools()))?.map(({ metadata }) => metadata.name)
}

async function namesOrNothing<T>(listed: Promise<T>): Promise<T | undefined> {
  try {
    return await listed
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
