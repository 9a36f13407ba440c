/**
 * The crypto networks that deposits come from and deliveries go to, each with its address family: networks of one
 * family share their addresses. Key material is configured per family. Pure.
 */
export const CRYPTO_NETWORKS = {
  BITCOIN: 'bitcoin',
  BITCOIN_CASH: 'bitcoin_cash',
  LITECOIN: 'litecoin',
  DOGECOIN: 'dogecoin',
  ETHEREUM: 'evm',
  POLYGON_POS: 'evm',
  BASE: 'evm',
  ARBITRUM_ONE: 'evm',
  AVALANCHE: 'evm',
  BNB: 'evm',
  SOLANA: 'solana',
  STELLAR: 'stellar',
} as const

export type CryptoNetwork = keyof typeof CRYPTO_NETWORKS
export type AddressFamily = (typeof CRYPTO_NETWORKS)[CryptoNetwork]

export const CRYPTO_NETWORK_NAMES = Object.keys(CRYPTO_NETWORKS) as readonly CryptoNetwork[]

/** The networks of a family, in the order of the table. */
export function networksOf(family: AddressFamily): readonly CryptoNetwork[] {
  return CRYPTO_NETWORK_NAMES.filter((network) => CRYPTO_NETWORKS[network] === family)
}

/** Other names that requests may use for a network; answers never do. */
const NETWORK_ALIASES = { POLYGON: 'POLYGON_POS' } as const satisfies Record<string, CryptoNetwork>

export type RequestedNetwork = CryptoNetwork | keyof typeof NETWORK_ALIASES

/** Every name that a request may use. */
export const REQUESTED_NETWORK_NAMES: readonly RequestedNetwork[] = [
  ...CRYPTO_NETWORK_NAMES,
  ...(Object.keys(NETWORK_ALIASES) as (keyof typeof NETWORK_ALIASES)[]),
]

/** The network of a name in a request, which may be an alias. */
export function networkNamed(name: RequestedNetwork): CryptoNetwork {
  return name in NETWORK_ALIASES ? NETWORK_ALIASES[name as keyof typeof NETWORK_ALIASES] : (name as CryptoNetwork)
}
