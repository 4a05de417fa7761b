public import KeychainModel
internal import Platform

extension AccessGroups {
    /// The environment's variable that names the groups of a program, with colons between them.
    package static let variable = "TOKENKIT_ACCESS_GROUPS"

    /// The access groups of this program, from its environment in place of an entitlement.
    public static var configured: AccessGroups {
        AccessGroups(configured: Environment.variable(variable))
    }

    /// The groups that the variable names; every group where it is not set.
    package init(configured text: String?) {
        let names = text?.split(separator: ":").map(String.init) ?? []
        self.init(names.isEmpty ? AccessGroups.all.names : names)
    }
}
