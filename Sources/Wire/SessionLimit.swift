/// The sessions that a program may have at a time, in all slots together. Programs that open one for each connection have hundreds.
package enum SessionLimit {
    package static let count = 1_024
}
