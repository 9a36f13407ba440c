/**
 * The crypto networks for deposits and deliveries, each with its address family. Networks in one family share their
 * addresses. Key material is configured per family. Pure.
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

/** A family's networks, in table order. */
export function networksOf(family: AddressFamily): readonly CryptoNetwork[] {
  return CRYPTO_NETWORK_NAMES.filter((network) => CRYPTO_NETWORKS[network] === family)
}

/** Network aliases, which requests may use and answers never do. */
const NETWORK_ALIASES = { POLYGON: 'POLYGON_POS' } as const satisfies Record<string, CryptoNetwork>

export type RequestedNetwork = CryptoNetwork | keyof typeof NETWORK_ALIASES

/** Every name which a request may use. */
export const REQUESTED_NETWORK_NAMES: readonly RequestedNetwork[] = [
  ...CRYPTO_NETWORK_NAMES,
  ...(Object.keys(NETWORK_ALIASES) as (keyof typeof NETWORK_ALIASES)[]),
]

/** The network for a request's name, which may be an alias. */
export function networkNamed(name: RequestedNetwork): CryptoNetwork {
  return name in NETWORK_ALIASES ? NETWORK_ALIASES[name as keyof typeof NETWORK_ALIASES] : (name as CryptoNetwork)
}
