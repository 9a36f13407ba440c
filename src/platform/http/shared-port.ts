/** Whether several processes can listen to one port, each with a share of its connections. */

/** Where the system spreads the connections, and Node's `reusePort` is supported. */
const SYSTEMS: readonly string[] = ['linux', 'freebsd']

export function canSharePorts(version = process.versions.node, system: string = process.platform): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isSupported = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12)
  return isSupported && SYSTEMS.includes(system)
}
