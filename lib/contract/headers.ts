/** What pages of other origins may read of an answer, beyond what browsers always let them (design, "CORS"). */
export const exposedHeaders = "ETag, Retry-After, x-amzn-RequestId";
