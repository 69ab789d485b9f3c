const message =
  'builds in which the client pushes an image to a registry were removed from the protocol: use POST /v3/templates, and update a client that calls this';

/** The builds of version 1, which answer 410. */
export const removedBuilds = {
  'POST /templates': message,
  'POST /templates/{templateID}': message,
  'POST /templates/{templateID}/builds/{buildID}': message,
};
