"""The search: IVMs on a device, work stealing between them, and the exchange of intervals between devices."""
