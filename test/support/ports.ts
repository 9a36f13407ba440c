/**
 * Ports for servers that listen on the same one again after they have ended. A port chosen by the system would be free
 * meanwhile, and might be given to another server or to an outgoing connection.
 */

import { createSocket } from 'node:dgram'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from './awaited.ts'

const LOWEST = 10_000
const HIGHEST = 31_999
/** Linux: the first and the last port that the system gives to programs without a choice of their own. */
const GIVEN_BY_THE_SYSTEM = '/proc/sys/net/ipv4/ip_local_port_range'

const highest = Math.min(HIGHEST, lowestGivenBySystem() - 1)
const count = highest - LOWEST + 1
let next = (process.pid * 97) % count

/**
 * Returns a TCP port of 127.0.0.1 that no program listens on. No other caller gets it, in this process or another one,
 * while this process lives, because it holds the UDP port with the same number.
 */
export async function claimPort(): Promise<number> {
  for (let tried = 0; tried < count; tried++) {
    const port = LOWEST + next
    next = (next + 1) % count
    if ((await claimed(port)) && (await isFree(port))) return port
  }
  throw new Error(`none of the ports from ${LOWEST} to ${highest} is free`)
}

/** Claims the port, unless another caller has. Returns whether it did. */
async function claimed(port: number): Promise<boolean> {
  const claim = createSocket('udp4')
  claim.bind({ port, address: '127.0.0.1', exclusive: true })
  try {
    await once(claim, 'listening')
  } catch {
    claim.close()
    return false
  }
  claim.unref()
  return true
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

/** Beyond our range where it is not known, or leaves no ports below it. */
function lowestGivenBySystem(): number {
  if (!existsSync(GIVEN_BY_THE_SYSTEM)) return HIGHEST + 1
  const lowest = Number(readFileSync(GIVEN_BY_THE_SYSTEM, 'utf8').split(/\s/)[0])
  return lowest > LOWEST + 1_000 ? lowest : HIGHEST + 1
}
