/** The id of the invented client that the conformance server knows. */
export const CLIENT_ID = 'torture'
