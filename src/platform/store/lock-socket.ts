/**
 * The UNIX socket for a data folder's lock: the holder listens on it as long as it lives, and other processes connect
 * to find out whether it does. Nothing is sent: the kernel also accepts a connection for a process that is stopped or
 * hangs. A socket's path has at most about a hundred bytes. A longer one is opened through a descriptor of the folder,
 * because Node truncates a longer path without an error and would listen elsewhere.
 */
import { closeSync, openSync } from 'node:fs'
import { chmod, lstat, rm } from 'node:fs/promises'
import { createConnection, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'

export interface LockSocket {
  /** Stops listening and removes the socket. */
  close(): Promise<void>
}

/** `sun_path` holds 108 bytes on Linux and 104 on BSD and macOS, a zero at the end included (unix(7)). */
const PATH_BYTES_MAX = 103
/** Error codes from a file system without sockets, or from a sandbox that forbids them. */
const UNSUPPORTED = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP']

/** The socket's name in the folder. Undefined for an invalid nonce, so it never names another file. */
export function socketName(nonce: string | undefined): string | undefined {
  return nonce !== undefined && /^[0-9a-f-]{36}$/.test(nonce) ? `lock.${nonce}.socket` : undefined
}

/** Listens in the folder. Logs a warning and returns undefined where the file system has no sockets. */
export async function listenOnSocket(folder: string, nonce: string, log: Log): Promise<LockSocket | undefined> {
  const name = `lock.${nonce}.socket`
  const path = join(folder, name)
  const reach = reachOf(folder, name)
  const server = createServer((socket) => socket.destroy())
  // The socket alone does not keep the process running.
  server.unref()
  try {
    await listen(server, reach.path)
    // Connecting to a UNIX socket requires write permission.
    await chmod(path, 0o600)
    if (!(await lstat(path)).isSocket()) throw new Error(`${path} is not the created socket`)
    // Without free descriptors it cannot accept, but the kernel still completes connections.
    server.on('error', (error) => log.warn({ folder, err: error }, 'the data folder’s lock cannot accept connections'))
  } catch (error) {
    await close(server)
    reach.close()
    const { code = '' } = error as NodeJS.ErrnoException
    if (!UNSUPPORTED.includes(code)) throw new Error(`the lock of ${folder} cannot be created`, { cause: error })
    log.warn(
      { folder, code },
      'the data folder’s file system has no UNIX sockets: a second start in another container is not noticed. ' +
        'Put data_dir on a local volume',
    )
    return undefined
  }
  let closed: Promise<void> | undefined
  const closeOnce = async (): Promise<void> => {
    await close(server)
    await rm(path, { force: true })
    // Node removes the socket by its listening path, so the path must stay valid until then.
    reach.close()
  }
  return {
    close() {
      // A second call must not close the descriptor again: its number may be in use for another file.
      closed ??= closeOnce()
      return closed
    },
  }
}

/**
 * Whether a process listens on the socket, no process does, or there is no such file. Any other error counts as
 * listening: the socket's queue may be full, or it may belong to another user.
 */
export async function probeSocket(folder: string, name: string): Promise<'listening' | 'refused' | 'absent'> {
  const reach = reachOf(folder, name)
  try {
    await connect(reach.path)
    return 'listening'
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return 'absent'
    return code === 'ECONNREFUSED' ? 'refused' : 'listening'
  } finally {
    reach.close()
  }
}

/** A path to a socket that is short enough, valid until it is closed. */
interface Reach {
  readonly path: string
  close(): void
}

function reachOf(folder: string, name: string): Reach {
  const path = join(folder, name)
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return { path, close: () => undefined }
  if (process.platform !== 'linux') throw new Error(`${path} is too long for a socket: name a shorter data_dir`)
  const descriptor = openSync(folder, 'r')
  return { path: `/proc/self/fd/${descriptor}/${name}`, close: () => closeSync(descriptor) }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Resolves also when it did not listen. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
  })
}

function connect(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path, () => {
      socket.destroy()
      resolve()
    })
    socket.once('error', reject)
  })
}
