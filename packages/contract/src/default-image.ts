const form = /^(?:docker\.io\/)?e2bdev\/base(?::latest)?$/;

/** Whether that is the image with which clients begin when nothing else is asked for: a server takes its base template for it. */
export const isDefaultImage = (reference: string): boolean => form.test(reference);
