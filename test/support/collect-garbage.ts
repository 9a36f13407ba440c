/**
 * Makes another Node.js process collect its garbage, through its inspector. Resident memory before a collection depends
 * on how long V8 has put it off, and shows nothing about the process's real use.
 */

import { setTimeout as wait } from 'node:timers/promises'
import WebSocket from 'ws'
import { once, until } from './awaited.ts'

/** SIGUSR1 makes a process listen here, so one process can do so at a time. */
const INSPECTOR = 'http://127.0.0.1:9229/json/list'

/** Resolves when the process has collected and its inspector is closed again. */
export async function collectGarbage(pid: number): Promise<void> {
  process.kill(pid, 'SIGUSR1')
  let url: string | undefined
  while (url === undefined) {
    await wait(50)
    url = await inspectorUrl()
  }
  const socket = new WebSocket(url)
  await once(socket, 'open')
  await answerTo(socket, 'HeapProfiler.collectGarbage', {})
  const ending = 'setTimeout(() => process._debugEnd())'
  await answerTo(socket, 'Runtime.evaluate', { expression: ending })
  socket.terminate()
  await until(
    "the inspector's end",
    async () => (await inspectorUrl()) === undefined,
    () => wait(50),
  )
}

/** Undefined while no process listens. */
async function inspectorUrl(): Promise<string | undefined> {
  const targets = await fetch(INSPECTOR).then(
    async (response) => (await response.json()) as readonly { readonly webSocketDebuggerUrl: string }[],
    () => [],
  )
  return targets[0]?.webSocketDebuggerUrl
}

async function answerTo(socket: WebSocket, method: string, params: object): Promise<void> {
  const answered = new Promise((resolve, reject) => socket.once('message', resolve).once('error', reject))
  socket.send(JSON.stringify({ id: 1, method, params }))
  await answered
}
