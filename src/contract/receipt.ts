/** What receipts of books have in common for the service that signs them and the program that checks them. */

/** `typ` of the header of a receipt, which no token has. */
export const RECEIPT_TYPE = 'tidegate-receipt+jws'

/** Path of the JWK Set with the public keys of receipts. */
export const RECEIPT_KEYS_PATH = '/.well-known/tidegate-receipt-keys.json'
