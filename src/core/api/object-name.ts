/**
 * The API server's rule for the names of nodes and of our objects, and for the prefix of a label key (apimachinery,
 * IsDNS1123Subdomain): dotted lower-case labels, 253 characters in all. Unlike the DNS itself it knows no limit of 63 per
 * label, so a node may bear a longer one, and the objects of that node have to be able to bear it too.
 */
export const dnsSubdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
export const objectNamePattern = new RegExp(`^${dnsSubdomain}$`);
export const longestObjectName = 253;

export const isObjectName = (text: string): boolean => text.length <= longestObjectName && objectNamePattern.test(text);
