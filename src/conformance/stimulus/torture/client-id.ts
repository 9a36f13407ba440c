/** The id of the conformance server's invented client. */
export const CLIENT_ID = 'torture'
