/** The bucket of images on this machine. */
export const imageBucket = "images";
